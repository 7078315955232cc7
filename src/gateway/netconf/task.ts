import type { RestartParams } from '../../devices/commands/command.ts'
import type { CommandProgress } from '../../devices/tables.ts'
import type { Rejection } from '../driver.ts'
import type { Rpc, RpcReply } from './rpc.ts'

/** One request of a task. */
export interface TaskCall {
  readonly rpc: Rpc
  readonly timeoutMs: number
  readonly step: CommandProgress
  /** True when the device may break the connection instead of a reply, because the request reboots it. */
  readonly mayBreak?: boolean
}

/** The result of a task: an outcome, so that a later reply and this one are interpreted in the same way. */
export type TaskResult =
  | { readonly kind: 'done'; readonly text: string | null }
  /** One part of the device restarts; `uptimeS` is its former uptime, if reported. */
  | { readonly kind: 'returning'; readonly part: RestartParams; readonly uptimeS: number | null }
  | Rejection

/**
 * A sequence of requests that depend on each other's replies. It performs no I/O: it yields a request and is resumed
 * with the reply. Unless a call may break, `broken` is never passed: the task is dropped with its connection.
 */
export type Task<Result = TaskResult> = Generator<TaskCall, Result, RpcReply>

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS

/** The time limits of requests to a device. */
export const waits = {
  read: MINUTE_MS,
  checksum: 5 * MINUTE_MS,
  clean: 10 * MINUTE_MS,
  copy: 30 * MINUTE_MS,
  install: 35 * MINUTE_MS,
  /** Two installations and two reboots. */
  upgradeCluster: 90 * MINUTE_MS,
  reboot: 2 * MINUTE_MS,
  rollBack: 35 * MINUTE_MS,
  snapshot: 35 * MINUTE_MS,
} as const

export function rejected(code: string, text: string, final = false): Rejection {
  return { kind: 'rejected', code, text, final }
}
