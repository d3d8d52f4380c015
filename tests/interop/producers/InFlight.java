// Batches of Kafka's own producer that are on the way at the same time: java InFlight BOOTSTRAP TOPIC SIZE...
//
// Sends a batch of so many records for each SIZE to partition 0, while the broker is stopped from "ready" until "sent". Prints the offsets of all records.

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringSerializer;

public class InFlight {
    public static void main(String[] arguments) throws Exception {
        String topic = arguments[1];
        Map<String, Object> setting = new HashMap<>();
        setting.put("bootstrap.servers", arguments[0]);
        setting.put("linger.ms", 100);
        setting.put("enable.metrics.push", false); // nothing else is to be on the way
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(setting, new StringSerializer(), new StringSerializer())) {
            producer.send(new ProducerRecord<>(topic, 1, null, "connects")).get();
            System.out.println("ready");
            System.in.read();
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int batch = 2; batch < arguments.length; batch++) {
                String value = "v".repeat(100);
                for (int number = Integer.parseInt(arguments[batch]); number > 0; number--) {
                    sent.add(producer.send(new ProducerRecord<>(topic, 0, null, value)));
                }
                while (onTheWay(producer) < batch - 1) {
                    Thread.sleep(10);
                }
            }
            System.out.println("sent");
            List<String> offsets = new ArrayList<>();
            for (Future<RecordMetadata> each : sent) {
                offsets.add(String.valueOf(each.get().offset()));
            }
            System.out.println(String.join(",", offsets));
        }
    }

    private static int onTheWay(KafkaProducer<String, String> producer) {
        return producer.metrics().entrySet().stream()
            .filter(each -> each.getKey().name().equals("requests-in-flight"))
            .mapToInt(each -> ((Double) each.getValue().metricValue()).intValue())
            .sum();
    }
}
