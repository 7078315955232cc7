/** The agent stops before a command has ended. It completes the command at its next start. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}
