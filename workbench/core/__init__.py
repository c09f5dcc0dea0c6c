"""What every other package uses: threads, grades, errors, the event loop, text that is safe to show."""
