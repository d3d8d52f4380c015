import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Apache Kafka's command-line tools, and its consumers, in one process: to start one for each takes longer than
 * what they do.
 *
 * A line of JSON in, a line out: "run" a class with arguments and get what it printed; have a member "join" a group,
 * "await" that it has exactly some partitions, and let it "leave".
 */
public final class KafkaTools {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long AWAIT_MS = 120_000;

    private final Map<String, Member> members = new HashMap<>();
    private ByteArrayOutputStream printed;
    private ByteArrayOutputStream complained;
    private Map<String, Object> ended;

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        KafkaTools tools = new KafkaTools();
        Exit.setExitProcedure(tools::exit);
        Exit.setHaltProcedure(tools::exit);
        Exit.setShutdownHookAdder((name, hook) -> {});
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode asked = JSON.readTree(line);
            answers.println(JSON.writeValueAsString(tools.answer(asked)));
        }
        for (Member member : tools.members.values()) {
            member.leave();
        }
    }

    private Map<String, Object> answer(JsonNode asked) throws Exception {
        switch (asked.get("do").asText()) {
            case "run":
                return run(asked.get("class").asText(), strings(asked.get("arguments")));
            case "join":
                members.put(asked.get("name").asText(), new Member(asked));
                return Map.of();
            case "await":
                return Map.of("assigned", members.get(asked.get("name").asText()).await(strings(asked.get("assigned"))));
            case "leave":
                members.remove(asked.get("name").asText()).leave();
                return Map.of();
            default:
                throw new IllegalArgumentException(asked.toString());
        }
    }

    private Map<String, Object> run(String mainClass, List<String> arguments) throws Exception {
        PrintStream out = System.out;
        PrintStream err = System.err;
        printed = new ByteArrayOutputStream();
        complained = new ByteArrayOutputStream();
        ended = null;
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(complained, true, StandardCharsets.UTF_8));
        try {
            Object given = arguments.toArray(String[]::new);
            Class.forName(mainClass).getMethod("main", String[].class).invoke(null, given);
        } catch (InvocationTargetException thrown) {
            if (!(thrown.getCause() instanceof Ended)) {
                throw thrown;
            }
        } finally {
            System.setOut(out);
            System.setErr(err);
        }
        return ended == null ? said(0) : ended;
    }

    private Map<String, Object> said(int status) {
        return Map.of(
            "status", status,
            "out", printed.toString(StandardCharsets.UTF_8),
            "err", complained.toString(StandardCharsets.UTF_8));
    }

    /** Instead of the end of this process. Some tools catch all that is thrown, complain of it, and end once more. */
    private void exit(int status, String message) {
        ended = ended == null ? said(status) : ended;
        throw new Ended();
    }

    private static List<String> strings(JsonNode array) {
        List<String> all = new ArrayList<>();
        array.forEach(each -> all.add(each.asText()));
        return all;
    }

    private static final class Ended extends Error {}

    /** A consumer that polls until it leaves, and commits nothing by itself. */
    private static final class Member {
        private final KafkaConsumer<String, String> consumer;
        private final Thread thread = new Thread(this::follow);
        private List<String> assigned = List.of();
        private boolean leaving;
        private RuntimeException failed;

        Member(JsonNode asked) {
            Map<String, Object> settings = new HashMap<>(Map.of("enable.auto.commit", "false", "metadata.max.age.ms", 1000));
            asked.get("settings").properties().forEach(entry -> settings.put(entry.getKey(), entry.getValue().asText()));
            consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
            if (asked.has("pattern")) {
                consumer.subscribe(Pattern.compile(asked.get("pattern").asText()));
            } else if (asked.has("re2")) {
                consumer.subscribe(new SubscriptionPattern(asked.get("re2").asText()));
            } else {
                consumer.subscribe(strings(asked.get("topics")));
            }
            thread.start();
        }

        private void follow() {
            try {
                while (!isLeaving()) {
                    consumer.poll(Duration.ofMillis(20));
                    tell(consumer.assignment().stream().map(Object::toString).sorted().toList());
                }
                // A static member would stay in its group otherwise.
                consumer.close(CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
            } catch (RuntimeException error) {
                fail(error);
            }
        }

        private synchronized boolean isLeaving() {
            return leaving;
        }

        private synchronized void tell(List<String> now) {
            assigned = now;
            notifyAll();
        }

        private synchronized void fail(RuntimeException error) {
            failed = error;
            notifyAll();
        }

        synchronized List<String> await(List<String> wanted) throws InterruptedException {
            long end = System.currentTimeMillis() + AWAIT_MS;
            while (failed == null && !assigned.equals(wanted) && System.currentTimeMillis() < end) {
                wait(1000);
            }
            if (failed != null) {
                throw failed;
            }
            return assigned;
        }

        void leave() throws InterruptedException {
            synchronized (this) {
                leaving = true;
            }
            thread.join();
        }
    }
}
