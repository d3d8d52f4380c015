"""What only the tests of this project use: fakes, clients, simulations, and Apache Kafka beside us."""
