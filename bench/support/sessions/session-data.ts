import type { RegisteredAgent } from './agents.ts'
import type { EnrolledDevice } from '../devices.ts'

/** How long a device takes to execute a command: some commands are unanswered when the server is killed. */
export const ANSWER_MS = 250

/** The devices of one process. */
export type ClientsData = { readonly port: number } & (
  | { readonly kind: 'ucentral'; readonly ca: string; readonly devices: readonly EnrolledDevice[] }
  | { readonly kind: 'agents'; readonly devices: readonly RegisteredAgent[] }
  | { readonly kind: 'junos'; readonly orgId: string; readonly secret: string; readonly devices: readonly JunosMac[] }
)

interface JunosMac {
  readonly mac: string
}

/** A command that has arrived at a device. */
export interface Arrival {
  /** The MAC address, or the id of the edge appliance. */
  readonly device: string
  /** The id of the command on the wire; null if it has none. */
  readonly id: string | null
  readonly atMs: number
}
