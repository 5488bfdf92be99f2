"""What was published and what runs what: builds of torch, drivers, architectures, companions. Each row has its source."""
