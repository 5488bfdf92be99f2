"""Tables of published builds, drivers, architectures, companions and API changes. Each row has its source."""
