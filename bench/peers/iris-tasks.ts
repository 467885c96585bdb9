/** A task that does nothing. */
export function nothing(): void {
  // Its start and its end are what is measured.
}
