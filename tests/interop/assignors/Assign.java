import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/**
 * Runs Apache Kafka's own assignors: a group per line of JSON in, what its members get per line out.
 *
 * Members, topics and partitions go to the assignor in the order that the input has them in, where it keeps any order.
 */
public final class Assign {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
        }
    }

    private static Map<String, Map<String, Set<Integer>>> answer(JsonNode asked) {
        Map<Uuid, Integer> counts = new HashMap<>();
        asked.get("partitions").properties().forEach(entry -> counts.put(topic(entry.getKey()), entry.getValue().asInt()));
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new LinkedHashMap<>();
        Set<Set<Uuid>> subscriptions = new LinkedHashSet<>();
        for (JsonNode member : asked.get("members")) {
            String id = member.get("id").asText();
            Set<Uuid> subscribed = new LinkedHashSet<>();
            member.get("subscribed").forEach(name -> subscribed.add(topic(name.asText())));
            subscriptions.add(subscribed);
            Map<Uuid, Set<Integer>> assigned = new LinkedHashMap<>();
            member.get("assigned").properties().forEach(entry -> {
                Set<Integer> partitions = new LinkedHashSet<>();
                for (JsonNode partition : entry.getValue()) {
                    partitions.add(partition.asInt());
                    owners.computeIfAbsent(topic(entry.getKey()), key -> new HashMap<>()).put(partition.asInt(), id);
                }
                assigned.put(topic(entry.getKey()), partitions);
            });
            Optional<String> instance = Optional.ofNullable(member.get("instance").asText(null));
            members.put(id, new MemberSubscriptionAndAssignmentImpl(
                Optional.empty(), instance, subscribed, new Assignment(assigned)));
        }
        SubscriptionType type = subscriptions.size() > 1 ? SubscriptionType.HETEROGENEOUS : SubscriptionType.HOMOGENEOUS;
        boolean uniform = asked.get("assignor").asText().equals("uniform");
        ConsumerGroupPartitionAssignor assignor = uniform ? new UniformAssignor() : new RangeAssignor();
        return printed(assignor.assign(new GroupSpecImpl(members, type, owners), new Counts(counts)));
    }

    private static Map<String, Map<String, Set<Integer>>> printed(GroupAssignment assignment) {
        Map<String, Map<String, Set<Integer>>> all = new TreeMap<>();
        for (Map.Entry<String, MemberAssignment> member : assignment.members().entrySet()) {
            Map<String, Set<Integer>> topics = new TreeMap<>();
            member.getValue().partitions().forEach((topic, partitions) -> topics.put(hex(topic), new TreeSet<>(partitions)));
            all.put(member.getKey(), topics);
        }
        return all;
    }

    private static Uuid topic(String hex) {
        return new Uuid(Long.parseUnsignedLong(hex.substring(0, 16), 16), Long.parseUnsignedLong(hex.substring(16), 16));
    }

    private static String hex(Uuid topic) {
        return String.format("%016x%016x", topic.getMostSignificantBits(), topic.getLeastSignificantBits());
    }

    private record Counts(Map<Uuid, Integer> counts) implements SubscribedTopicDescriber {
        @Override
        public int numPartitions(Uuid topic) {
            return counts.getOrDefault(topic, -1);
        }

        @Override
        public Set<String> racksForPartition(Uuid topic, int partition) {
            return Set.of();
        }
    }
}
