import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Members of a group, each in a thread of its own: see README.md. */
public final class Members {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> settings = JSON.readValue(arguments[2], new TypeReference<Map<String, Object>>() {});
        settings.put("bootstrap.servers", arguments[0]);
        Map<String, Member> members = new HashMap<>();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String name = line.substring(line.indexOf(' ') + 1);
            if (line.startsWith("start ")) {
                members.put(name, new Member(name, arguments[1], settings));
            } else {
                members.remove(name).isStopping = true;
            }
        }
        for (Member member : members.values()) {
            member.isStopping = true;
        }
    }

    private static final class Member implements Runnable, ConsumerRebalanceListener {
        volatile boolean isStopping;
        private final String name;
        private final KafkaConsumer<String, String> consumer;
        private final Map<TopicPartition, Long> next = new HashMap<>();
        private boolean isBehind; // with its commits

        Member(String name, String topic, Map<String, Object> settings) {
            this.name = name;
            Map<String, Object> own = new HashMap<>(settings);
            own.put("client.id", name);
            consumer = new KafkaConsumer<>(own, new StringDeserializer(), new StringDeserializer());
            consumer.subscribe(List.of(topic), this);
            new Thread(this, name).start();
        }

        @Override
        public void run() {
            try (consumer) {
                while (!isStopping) {
                    consumer.poll(Duration.ofMillis(50)).forEach(this::process);
                    if (isBehind && !next.isEmpty()) {
                        isBehind = !commit(next);
                    }
                }
            }
            tell("stopped", Map.of());
        }

        private void process(ConsumerRecord<String, String> record) {
            next.put(new TopicPartition(record.topic(), record.partition()), record.offset() + 1);
            isBehind = true;
            tell("processed", Map.of("partition", record.partition(), "offset", record.offset(), "value", record.value()));
        }

        private boolean commit(Map<TopicPartition, Long> offsets) {
            Map<TopicPartition, OffsetAndMetadata> asked = new HashMap<>();
            Map<String, Long> told = new TreeMap<>();
            offsets.forEach((partition, offset) -> {
                asked.put(partition, new OffsetAndMetadata(offset));
                told.put(Integer.toString(partition.partition()), offset);
            });
            try {
                consumer.commitSync(asked);
                tell("committed", Map.of("offsets", told));
                return true;
            } catch (KafkaException refused) {
                tell("refused", Map.of("error", refused.getClass().getSimpleName()));
                return false;
            }
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            tell("assigned", Map.of("partitions", numbers(partitions)));
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            Map<TopicPartition, Long> last = new HashMap<>(next);
            last.keySet().retainAll(partitions);
            if (!last.isEmpty()) {
                commit(last);
            }
            next.keySet().removeAll(partitions);
            tell("revoked", Map.of("partitions", numbers(partitions)));
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            next.keySet().removeAll(partitions);
            tell("lost", Map.of("partitions", numbers(partitions)));
        }

        private static List<Integer> numbers(Collection<TopicPartition> partitions) {
            return partitions.stream().map(TopicPartition::partition).sorted().toList();
        }

        private void tell(String what, Map<String, Object> fields) {
            Map<String, Object> event = new LinkedHashMap<>(fields);
            event.put("who", name);
            event.put("what", what);
            event.put("at", System.nanoTime());
            try {
                System.out.println(JSON.writeValueAsString(event));
            } catch (Exception impossible) {
                throw new IllegalStateException(impossible);
            }
        }
    }
}
