import type { MxedgeService } from './facts.ts'

/** A service whose state differs from that of the report before. */
export interface ServiceChange {
  readonly service: string
  readonly from: MxedgeService['state']
  readonly to: MxedgeService['state']
}

/** A command that can have changed the state of services. */
export interface ServiceCommand {
  /** Null: it concerns every service. */
  readonly service: string | null
  readonly isDone: boolean
}

/** Returns the changes between two reports. A service that is new or gone has not changed its state. */
export function listServiceChanges(
  before: readonly MxedgeService[],
  after: readonly MxedgeService[],
): readonly ServiceChange[] {
  const former = new Map(before.map(({ name, state }) => [name, state]))
  return after.flatMap(({ name, state }) => {
    const from = former.get(name)
    return from === undefined || from === state ? [] : [{ service: name, from, to: state }]
  })
}

/**
 * Returns the changes that no command explains: commands have events of their own. A service that has failed although a
 * command succeeded has failed after it.
 * @param commands Those in flight, and those that have ended since the former report.
 */
export function decideUnexplained(
  changes: readonly ServiceChange[],
  commands: readonly ServiceCommand[],
): readonly ServiceChange[] {
  return changes.filter(
    ({ service, to }) =>
      !commands.some(
        (command) => (command.service === null || command.service === service) && !(to === 'failed' && command.isDone),
      ),
  )
}
