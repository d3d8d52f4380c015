import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** The Java clients play the scenario of ../README.md. */
public class Player {
    static final long FIRST_MS = 1_700_000_000_000L;
    static final long SEARCHED_MS = 1_700_000_023_500L;
    static final long PAST_END_MS = 1_800_000_000_000L;
    static final int BATCH = 10;
    static final Duration LIMIT = Duration.ofSeconds(60);
    static final Map<String, String> CONFIGS = Map.of("max.message.bytes", "20000", "retention.ms", "-1");

    /** A record with texts for its bytes, as it is printed. */
    record Item(long offset, long timestamp, String key, String value, List<String[]> headers) {
        String json() {
            var shown = headers.stream().map(each -> "[" + quoted(each[0]) + "," + quoted(each[1]) + "]").toList();
            return "[" + offset + "," + timestamp + "," + quoted(key) + "," + quoted(value) + ",["
                + String.join(",", shown) + "]]";
        }
    }

    final String bootstrap;
    final Admin admin;

    Player(String bootstrap) {
        this.bootstrap = bootstrap;
        this.admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
    }

    public static void main(String[] arguments) throws Exception {
        var player = new Player(arguments[1]);
        var rest = List.of(arguments).subList(2, arguments.length);
        switch (arguments[0]) {
            case "play" -> player.play(rest.get(0), List.of(rest.get(1).split(",")));
            case "follow" -> player.follow(rest.get(0));
            case "join" -> player.join(rest.get(0), rest.get(1), rest.get(2), Integer.parseInt(rest.get(3)));
            default -> {
                for (String topic : rest) {
                    var records = json(player.read(topic, 0, -1, -1));
                    System.out.println("{\"topic\":" + quoted(topic) + ",\"records\":" + records + "}");
                }
            }
        }
        player.admin.close();
    }

    // --- the steps

    void play(String topic, List<String> codecs) throws Exception {
        var changed = topic + "-changed";
        var topics = List.of(topic, changed).stream().map(name -> new NewTopic(name, 3, (short) 1).configs(CONFIGS));
        admin.createTopics(topics.toList()).all().get();
        tell("created");
        var configs = new ArrayList<String>();
        for (String name : CONFIGS.keySet()) {
            configs.add(quoted(name) + ":" + quoted(config(topic, name)));
        }
        tell("described", "partitions", partitions(topic), "configs", "{" + String.join(",", configs) + "}");
        produce(topic, codecs);
        consume(topic);
        change(changed);
        fail(topic);
        admin.deleteTopics(List.of(changed)).all().get();
        var left = new TreeSet<>(admin.listTopics().names().get());
        left.retainAll(Set.of(topic, changed));
        tell("deleted", "topics", "[" + String.join(",", left.stream().map(Player::quoted).toList()) + "]");
    }

    void produce(String topic, List<String> codecs) throws Exception {
        for (int at = 0; at < codecs.size(); at++) {
            var codec = codecs.get(at);
            var settings = new HashMap<String, Object>(Map.of("compression.type", codec, "acks", "all"));
            settings.put("linger.ms", 60_000); // one batch, which leaves with the flush
            tell("produced", "codec", quoted(codec), "offsets", send(topic, 0, items(at, codec), settings));
        }
        for (String acks : List.of("1", "0")) {
            send(topic, 1, List.of(one("acks-" + acks)), Map.of("acks", acks));
        }
        var values = read(topic, 1, 0, 2).stream().map(each -> quoted(each.value())).toList();
        tell("acks", "values", values);
        tell("defaults", "offset", send(topic, 2, List.of(one("default")), Map.of()).get(0));
    }

    void consume(String topic) throws Exception {
        tell("consumed", "records", json(read(topic, 0, -1, -1)));
        var later = read(topic, 0, 15, -1);
        tell("from_offset", "first", later.get(0).offset(), "count", later.size());
        tell("by_time", "found", offsetAt(topic, SEARCHED_MS), "past_end", offsetAt(topic, PAST_END_MS));
        tell("offsets", "earliest", end(topic, 0, OffsetSpec.earliest()), "latest", end(topic, 0, OffsetSpec.latest()));
    }

    void change(String topic) throws Exception {
        send(topic, 0, items(0, "none"), Map.of());
        admin.deleteRecords(Map.of(new TopicPartition(topic, 0), RecordsToDelete.beforeOffset(7))).all().get();
        var first = read(topic, 0, -1, -1).get(0).offset();
        tell("records_deleted", "low", end(topic, 0, OffsetSpec.earliest()), "first", first);
        admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(5))).all().get();
        tell("partitions_added", "partitions", partitions(topic));
        var set = new AlterConfigOp(new ConfigEntry("max.message.bytes", "30000"), AlterConfigOp.OpType.SET);
        Collection<AlterConfigOp> changes = List.of(set);
        var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        admin.incrementalAlterConfigs(Map.of(resource, changes)).all().get();
        tell("altered", "value", quoted(config(topic, "max.message.bytes")));
    }

    void fail(String topic) throws Exception {
        try {
            send(topic, 0, List.of(one("x".repeat(25_000))), Map.of());
        } catch (ExecutionException refused) {
            tell("too_large", "error", quoted(refused.getCause().getClass().getSimpleName()));
        }
        try {
            partitions(topic + "-unknown");
        } catch (ExecutionException refused) {
            tell("unknown_topic", "error", quoted(refused.getCause().getClass().getSimpleName()));
        }
    }

    // --- what the clients do

    int partitions(String topic) throws Exception {
        return admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size();
    }

    String config(String topic, String name) throws Exception {
        var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        return admin.describeConfigs(List.of(resource)).all().get().get(resource).get(name).value();
    }

    List<Long> send(String topic, int partition, List<Item> items, Map<String, Object> settings) throws Exception {
        var given = new HashMap<String, Object>(settings);
        given.put("bootstrap.servers", bootstrap);
        var sent = new ArrayList<Future<RecordMetadata>>();
        try (var producer = new KafkaProducer<>(given, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (Item item : items) {
                var record = new ProducerRecord<>(topic, partition, item.timestamp(), bytes(item.key()), bytes(item.value()));
                item.headers().forEach(each -> record.headers().add(each[0], bytes(each[1])));
                sent.add(producer.send(record));
            }
            producer.flush();
        }
        var offsets = new ArrayList<Long>();
        for (var each : sent) {
            offsets.add(each.get(LIMIT.toSeconds(), TimeUnit.SECONDS).offset());
        }
        return offsets;
    }

    /** From the beginning where start is -1; all that are there where count is -1. */
    List<Item> read(String topic, int partition, long start, long count) throws Exception {
        var where = new TopicPartition(topic, partition);
        var found = new ArrayList<Item>();
        try (var consumer = consumer()) {
            consumer.assign(List.of(where));
            if (start < 0) {
                consumer.seekToBeginning(List.of(where));
            } else {
                consumer.seek(where, start);
            }
            long wanted = count >= 0 ? count : consumer.endOffsets(List.of(where)).get(where) - consumer.position(where);
            while (found.size() < wanted) {
                var polled = consumer.poll(LIMIT);
                if (polled.isEmpty()) {
                    throw new IllegalStateException(found.size() + " of " + wanted + " records");
                }
                polled.forEach(each -> found.add(item(each)));
            }
        }
        return found;
    }

    void follow(String topic) throws Exception {
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var where = new TopicPartition(topic, 0);
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap);
        try (var producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
                var consumer = consumer()) {
            consumer.assign(List.of(where));
            consumer.seekToBeginning(List.of(where));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                producer.send(new ProducerRecord<>(topic, 0, null, bytes(line))).get(LIMIT.toSeconds(), TimeUnit.SECONDS);
                var read = item(consumer.poll(LIMIT).records(where).get(0));
                System.out.println("{\"offset\":" + read.offset() + ",\"value\":" + quoted(read.value()) + "}");
            }
        }
    }

    void join(String topic, String group, String protocol, int count) {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", bootstrap, "group.id", group, "group.protocol", protocol,
            "auto.offset.reset", "earliest", "enable.auto.commit", false, "max.poll.records", 1);
        var found = new ArrayList<String>();
        var next = new HashMap<TopicPartition, OffsetAndMetadata>();
        try (var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(topic));
            while (found.size() < count) {
                var polled = consumer.poll(LIMIT);
                if (polled.isEmpty()) {
                    throw new IllegalStateException(found.size() + " of " + count + " records");
                }
                for (var each : polled) {
                    found.add("[" + each.partition() + "," + each.offset() + "]");
                    next.put(new TopicPartition(topic, each.partition()), new OffsetAndMetadata(each.offset() + 1));
                }
            }
            consumer.commitSync(next);
        }
        System.out.println("{\"records\":[" + String.join(",", found) + "]}");
    }

    KafkaConsumer<byte[], byte[]> consumer() {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap);
        return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    Long offsetAt(String topic, long timeMs) {
        var where = new TopicPartition(topic, 0);
        try (var consumer = consumer()) {
            OffsetAndTimestamp found = consumer.offsetsForTimes(Map.of(where, timeMs)).get(where);
            return found == null ? null : found.offset();
        }
    }

    long end(String topic, int partition, OffsetSpec which) throws Exception {
        var where = new TopicPartition(topic, partition);
        return admin.listOffsets(Map.of(where, which)).partitionResult(where).get().offset();
    }

    static Item item(ConsumerRecord<byte[], byte[]> record) {
        var headers = new ArrayList<String[]>();
        for (Header each : record.headers()) {
            headers.add(new String[] {each.key(), text(each.value())});
        }
        return new Item(record.offset(), record.timestamp(), text(record.key()), text(record.value()), headers);
    }

    // --- what is sent, and how it is printed

    static List<Item> items(int at, String codec) {
        var made = new ArrayList<Item>();
        for (int n = 0; n < BATCH; n++) {
            long offset = (long) at * BATCH + n;
            List<String[]> headers = List.of(
                new String[] {"codec", codec}, new String[] {"n", "" + n}, new String[] {"empty", ""});
            var value = n == 8 ? null : codec + " " + n + " \u00fc\u20ac";
            made.add(new Item(offset, FIRST_MS + 1000 * offset, n % 2 == 0 ? "key-" + n : null, value, headers));
        }
        return made;
    }

    static Item one(String value) {
        return new Item(0, FIRST_MS, null, value, List.of());
    }

    static byte[] bytes(String text) {
        return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
    }

    static String text(byte[] data) {
        return data == null ? null : new String(data, StandardCharsets.UTF_8);
    }

    static void tell(String step, Object... fields) {
        var line = new StringBuilder("{\"step\":").append(quoted(step));
        for (int at = 0; at < fields.length; at += 2) {
            line.append(",").append(quoted((String) fields[at])).append(":").append(fields[at + 1]);
        }
        System.out.println(line.append("}"));
    }

    static String json(List<Item> items) {
        return "[" + String.join(",", items.stream().map(Item::json).toList()) + "]";
    }

    /** The texts of the scenario need no more than this. */
    static String quoted(String text) {
        return text == null ? "null" : "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
    }
}
