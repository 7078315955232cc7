import type { Params } from '../gateway/jsonrpc.ts'
import type { State } from './state.ts'
import type { Downloads } from './download.ts'
import type { Log } from './log.ts'
import type { OnPoint } from './points.ts'
import type { ProgressFeed } from './progress.ts'
import type { Upload } from './upload.ts'

/** A command as the gateway sent it. */
export interface Order {
  readonly method: string
  readonly params: unknown
}

/** Executes the commands of a role. Each may be executed again after a crash. */
export interface Executor {
  /** Returns what is wrong with the order; null: nothing, and its params name a command. */
  check(order: Order): 'unknown_method' | 'invalid_params' | null
  /** @returns What the answer says. @throws NotExecuted; Interrupted; Error with the reason. */
  run(order: Order): Promise<string>
}

/** What the agent is, and does, on the machine. */
export interface Role {
  /** The path and the body of its registration; the code and the request for a certificate are added. */
  readonly registration: { readonly path: string; readonly body: object }
  readonly executor: Executor
  /** Names the boot of the machine. */
  bootId(): Promise<string>
  /** The params of its hello, except the version of the agent. */
  hello(): Promise<Params>
  report(): Promise<Params>
  /** The methods that change what it reports. */
  readonly changing: ReadonlySet<string>
}

/** What every role gets from the agent. */
export interface RoleParts {
  readonly state: State
  /** The folder of the agent's state. */
  readonly folder: string
  readonly downloads: Downloads
  readonly upload: Upload
  readonly feed: ProgressFeed
  readonly log: Log
  readonly onPoint: OnPoint
}

/** What the commands of the operator need of these. */
export type HookParts = Pick<RoleParts, 'state' | 'log' | 'onPoint'>
