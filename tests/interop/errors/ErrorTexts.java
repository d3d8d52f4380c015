import org.apache.kafka.common.protocol.Errors;

/** What Apache Kafka's clients say of an error where a broker says nothing: a line for each code. */
public final class ErrorTexts {
    public static void main(String[] arguments) {
        for (Errors error : Errors.values()) {
            System.out.println(error.code() + "\t" + error.message());
        }
    }
}
