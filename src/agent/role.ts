import type { Params } from '../gateway/websockets/jsonrpc.ts'
import type { State } from './state.ts'
import type { Downloads } from './downloads/download.ts'
import type { Log } from './log.ts'
import type { OnPoint } from './points.ts'
import type { ProgressFeed } from './downloads/progress.ts'
import type { Upload } from './downloads/upload.ts'

/** A command as the gateway sent it. */
export interface Order {
  readonly method: string
  readonly params: unknown
}

/** Executes the commands of a role. Each may be executed again after a crash. */
export interface Executor {
  /** Returns the fault of the order; null: it has none, and its params name a command. */
  check(order: Order): 'unknown_method' | 'invalid_params' | null
  /** @returns The text of the answer. @throws NotExecuted; Interrupted; Error with the reason. */
  run(order: Order): Promise<string>
}

/** The role of the agent on the machine. */
export interface Role {
  /** The path and the body of its registration; the code and the request for a certificate are added. */
  readonly registration: { readonly path: string; readonly body: object }
  readonly executor: Executor
  /** Names the boot of the machine. */
  bootId(): Promise<string>
  /** The params of its hello, except the version of the agent. */
  hello(): Promise<Params>
  report(): Promise<Params>
  /** The methods that change the reported state. */
  readonly changing: ReadonlySet<string>
}

/** The parts that every role gets from the agent. */
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

/** The parts that the operator's commands need. */
export type HookParts = Pick<RoleParts, 'state' | 'log' | 'onPoint'>
