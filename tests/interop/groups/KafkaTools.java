import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
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
import org.slf4j.LoggerFactory;

/**
 * Runs Apache Kafka's command-line tools, and its consumers, in one process: to start one for each takes longer than
 * what they do.
 *
 * A line of JSON in, a line out: "run" a class with arguments, and maybe standard input, and get what it printed; have a
 * member "join" a group, "await" that it has exactly some partitions, and let it "leave".
 */
public final class KafkaTools {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long AWAIT_MS = 300_000;

    private final Map<String, Member> members = new HashMap<>();
    private final List<Runnable> hooks = new ArrayList<>();
    private final ByteArrayOutputStream logged = new ByteArrayOutputStream();
    private ByteArrayOutputStream printed;
    private ByteArrayOutputStream complained;
    private Ended ended;

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err); // a tool that prints behind its end does not speak to us
        KafkaTools tools = new KafkaTools();
        tools.catchLog();
        Exit.setExitProcedure(tools::exit);
        Exit.setHaltProcedure(tools::exit);
        Exit.setShutdownHookAdder((name, hook) -> tools.hooks.add(hook));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode asked = JSON.readTree(line);
            answers.println(JSON.writeValueAsString(tools.answer(asked)));
        }
        for (Member member : tools.members.values()) {
            member.leave();
        }
    }

    /** Loggers write to what is standard error when the first of them is made. */
    private void catchLog() {
        PrintStream err = System.err;
        System.setErr(new PrintStream(logged, true, StandardCharsets.UTF_8));
        LoggerFactory.getLogger(KafkaTools.class);
        System.setErr(err);
    }

    private Map<String, Object> answer(JsonNode asked) throws Exception {
        switch (asked.get("do").asText()) {
            case "run":
                return run(
                    asked.get("class").asText(), strings(asked.get("arguments")), asked.get("given").asText());
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

    private Map<String, Object> run(String mainClass, List<String> arguments, String given) throws Exception {
        InputStream in = System.in;
        PrintStream out = System.out;
        PrintStream err = System.err;
        printed = new ByteArrayOutputStream();
        complained = new ByteArrayOutputStream();
        ended = null;
        hooks.clear();
        logged.reset();
        System.setIn(new ByteArrayInputStream(given.getBytes(StandardCharsets.UTF_8)));
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(complained, true, StandardCharsets.UTF_8));
        try {
            Object words = arguments.toArray(String[]::new);
            Class.forName(mainClass).getMethod("main", String[].class).invoke(null, words);
        } catch (InvocationTargetException thrown) {
            if (!(thrown.getCause() instanceof Ended)) {
                fail(thrown.getCause());
            }
        } finally {
            end();
            System.setIn(in);
            System.setOut(out);
            System.setErr(err);
        }
        return Map.of("status", ended.status, "out", ended.out, "err", ended.err, "logged", text(logged));
    }

    /** As Java itself says what ended a program. */
    private void fail(Throwable thrown) {
        System.err.print("Exception in thread \"main\" ");
        thrown.printStackTrace();
        ended = ended == null ? new Ended(1, text(printed), text(complained)) : ended;
    }

    /** Some tools do a part of their work in hooks, which Java runs when the process ends. */
    private void end() {
        Ended first = ended == null ? new Ended(0, text(printed), text(complained)) : ended;
        printed.reset();
        complained.reset();
        hooks.forEach(Runnable::run);
        ended = new Ended(first.status, first.out + text(printed), first.err + text(complained));
    }

    /** Instead of the end of this process. Some tools catch all that is thrown, complain of it, and end once more. */
    private void exit(int status, String message) {
        ended = ended == null ? new Ended(status, text(printed), text(complained)) : ended;
        throw ended;
    }

    private static String text(ByteArrayOutputStream bytes) {
        return bytes.toString(StandardCharsets.UTF_8);
    }

    private static List<String> strings(JsonNode array) {
        List<String> all = new ArrayList<>();
        array.forEach(each -> all.add(each.asText()));
        return all;
    }

    /** A program that has ended, with what it printed until then. */
    private static final class Ended extends Error {
        private final int status;
        private final String out;
        private final String err;

        Ended(int status, String out, String err) {
            this.status = status;
            this.out = out;
            this.err = err;
        }
    }

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
