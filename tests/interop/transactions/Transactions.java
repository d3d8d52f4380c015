// Transactions with Kafka's own producer: java Transactions BOOTSTRAP TOPIC SOURCE GROUP. Prints a line for each thing that it saw.

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Transactions {
    private static String bootstrap;
    private static String topic;

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[0];
        topic = arguments[1];
        try (KafkaProducer<String, String> producer = producer("shop")) {
            for (int number = 0; number < 20; number++) {
                producer.beginTransaction();
                for (int partition = 0; partition < 2; partition++) {
                    producer.send(new ProducerRecord<>(topic, partition, null, "v" + number));
                }
                if (number % 4 == 3) {
                    producer.flush();
                    producer.abortTransaction();
                } else {
                    producer.commitTransaction();
                }
            }
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, 0, null, "of the fenced")).get();
            try (KafkaProducer<String, String> other = producer("shop")) {
                try {
                    producer.send(new ProducerRecord<>(topic, 0, null, "too late"));
                    producer.commitTransaction();
                    System.out.println("not fenced");
                } catch (ProducerFencedException | InvalidProducerEpochException fenced) {
                    System.out.println("fenced");
                }
                other.beginTransaction();
                other.send(new ProducerRecord<>(topic, 0, null, "last"));
                other.commitTransaction();
            }
        }
        transform(arguments[2], arguments[3]);
        for (int partition = 0; partition < 2; partition++) {
            System.out.println("read " + partition + " " + String.join(",", read(partition)));
        }
    }

    private static KafkaProducer<String, String> producer(String transactionalId) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("transactional.id", transactionalId);
        settings.put("key.serializer", StringSerializer.class);
        settings.put("value.serializer", StringSerializer.class);
        KafkaProducer<String, String> made = new KafkaProducer<>(settings);
        made.initTransactions();
        return made;
    }

    private static KafkaConsumer<String, String> consumer(String group) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("group.id", group);
        settings.put("enable.auto.commit", false);
        settings.put("auto.offset.reset", "earliest");
        settings.put("isolation.level", "read_committed");
        settings.put("key.deserializer", StringDeserializer.class);
        settings.put("value.deserializer", StringDeserializer.class);
        return new KafkaConsumer<>(settings);
    }

    /** Five records at a time; every second transaction is aborted at first, and its records are read again. */
    private static void transform(String source, String group) {
        int done = 0;
        int tries = 0;
        try (KafkaConsumer<String, String> consumer = consumer(group);
                KafkaProducer<String, String> producer = producer("transform")) {
            consumer.subscribe(List.of(source));
            while (done < 20) {
                List<ConsumerRecord<String, String>> some = new ArrayList<>();
                consumer.poll(Duration.ofMillis(100)).forEach(some::add);
                if (some.isEmpty()) {
                    continue;
                }
                List<ConsumerRecord<String, String>> taken = some.subList(0, Math.min(5, some.size()));
                TopicPartition place = new TopicPartition(source, 0);
                long next = taken.get(taken.size() - 1).offset() + 1;
                producer.beginTransaction();
                for (ConsumerRecord<String, String> record : taken) {
                    producer.send(new ProducerRecord<>(topic, 1, null, record.value() + "!"));
                }
                producer.sendOffsetsToTransaction(Map.of(place, new OffsetAndMetadata(next)), consumer.groupMetadata());
                if (tries++ % 2 == 0) {
                    producer.abortTransaction();
                    consumer.seek(place, taken.get(0).offset());
                } else {
                    producer.commitTransaction();
                    consumer.seek(place, next);
                    done += taken.size();
                }
            }
            TopicPartition place = new TopicPartition(source, 0);
            System.out.println("committed " + consumer.committed(java.util.Set.of(place)).get(place).offset());
        }
    }

    private static List<String> read(int partition) {
        List<String> values = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer = consumer("unused")) {
            TopicPartition place = new TopicPartition(topic, partition);
            consumer.assign(List.of(place));
            consumer.seekToBeginning(List.of(place));
            long end = consumer.endOffsets(List.of(place)).get(place);
            while (consumer.position(place) < end) {
                consumer.poll(Duration.ofMillis(100)).forEach(record -> values.add(record.value()));
            }
        }
        return values;
    }
}
