"""What is reported about schedules."""
