import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Passes records on exactly once: Transformer BOOTSTRAP FROM TO NAME, where NAME is that of its group and its
 * transactional id.
 *
 * A record goes to the partition that it has in FROM. Its key there is the offset that the same transaction commits for
 * that partition, so that output and offsets can be held against each other.
 *
 * On standard input, "hold" has it stay in its next transaction, with everything sent and nothing decided, until it is
 * killed or stopped. The end of the input stops it. It prints a line for each thing that happens:
 *
 *   at PARTITION OFFSET   where it begins to read, and what it has committed
 *   committed             a transaction, after the lines of what it committed
 *   aborted CAUSE         a transaction, because of an error; its records are read again
 *   renewed CAUSE         its clients, because of an error that they cannot go on after
 *   held
 */
public final class Transformer implements ConsumerRebalanceListener {
    private static final Duration POLL = Duration.ofMillis(100);
    private static volatile boolean isStopping;
    private static volatile boolean isToHold;

    private final String to;
    private final KafkaConsumer<String, String> consumer;
    private final KafkaProducer<String, String> producer;

    public static void main(String[] arguments) {
        Thread commands = new Thread(Transformer::obey, "commands");
        commands.setDaemon(true);
        commands.start();
        while (!isStopping) {
            Transformer transformer = new Transformer(arguments);
            try {
                transformer.run(arguments[1]);
            } catch (KafkaException failure) {
                tell("renewed " + failure.getClass().getSimpleName());
            } finally {
                transformer.close();
            }
        }
    }

    private static void obey() {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                isToHold = line.equals("hold");
            }
        } catch (IOException nobodyIsThere) {
            // The same as its end.
        }
        isStopping = true;
    }

    private static void tell(String what) {
        System.out.println(what);
        System.out.flush();
    }

    private Transformer(String[] arguments) {
        to = arguments[2];
        Map<String, Object> reading = new HashMap<>();
        reading.put("bootstrap.servers", arguments[0]);
        reading.put("group.id", arguments[3]);
        reading.put("group.instance.id", "only"); // one that was killed is replaced at once
        reading.put("session.timeout.ms", 60_000);
        reading.put("enable.auto.commit", false);
        reading.put("auto.offset.reset", "earliest");
        reading.put("isolation.level", "read_committed");
        reading.put("max.poll.records", 10);
        consumer = new KafkaConsumer<>(reading, new StringDeserializer(), new StringDeserializer());
        Map<String, Object> writing = new HashMap<>();
        writing.put("bootstrap.servers", arguments[0]);
        writing.put("transactional.id", arguments[3]);
        writing.put("transaction.timeout.ms", 300_000);
        producer = new KafkaProducer<>(writing, new StringSerializer(), new StringSerializer());
    }

    private void close() {
        producer.close(Duration.ZERO);
        consumer.close();
    }

    private void run(String from) {
        persist(producer::initTransactions);
        consumer.subscribe(List.of(from), this);
        while (!isStopping) {
            ConsumerRecords<String, String> records = consumer.poll(POLL);
            if (!records.isEmpty()) {
                pass(records);
            }
        }
    }

    private void pass(ConsumerRecords<String, String> records) {
        Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
        producer.beginTransaction();
        try {
            for (TopicPartition partition : records.partitions()) {
                List<ConsumerRecord<String, String>> some = records.records(partition);
                long behind = some.get(some.size() - 1).offset() + 1;
                next.put(partition, new OffsetAndMetadata(behind));
                for (ConsumerRecord<String, String> record : some) {
                    String key = Long.toString(behind);
                    producer.send(new ProducerRecord<>(to, record.partition(), key, record.value()));
                }
            }
            producer.sendOffsetsToTransaction(next, consumer.groupMetadata());
            if (isToHold) {
                hold();
            }
            persist(producer::commitTransaction);
        } catch (KafkaException failure) {
            persist(producer::abortTransaction); // raises where the producer is of no use any more
            tell("aborted " + failure.getClass().getSimpleName());
            rewind();
            return;
        }
        next.forEach((partition, offset) -> tell("at " + partition.partition() + " " + offset.offset()));
        tell("committed");
    }

    private void hold() {
        producer.flush();
        tell("held");
        while (!isStopping) {
            try {
                Thread.sleep(POLL.toMillis());
            } catch (InterruptedException nobodyDoesThat) {
                throw new IllegalStateException(nobodyDoesThat);
            }
        }
    }

    /** As long as the broker is away it is called again, and goes on where it was. */
    private static void persist(Runnable call) {
        while (true) {
            try {
                call.run();
                return;
            } catch (TimeoutException away) {
                continue;
            }
        }
    }

    /** Back to what is committed. */
    private void rewind() {
        persist(() -> {
            Set<TopicPartition> assigned = consumer.assignment();
            Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(assigned);
            for (TopicPartition partition : assigned) {
                OffsetAndMetadata offset = committed.get(partition);
                if (offset == null) {
                    consumer.seekToBeginning(List.of(partition));
                } else {
                    consumer.seek(partition, offset);
                }
            }
        });
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        persist(() -> partitions.forEach(each -> tell("at " + each.partition() + " " + consumer.position(each))));
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        // No transaction is open here: one ends before the next poll.
    }
}
