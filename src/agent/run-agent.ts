import { setTimeout as wait } from 'node:timers/promises'
import type { Appliance } from './appliance.ts'
import { createCommandBook } from './command-book.ts'
import { runConnection } from './connection.ts'
import { decideNext } from './decide-next.ts'
import { createReporter, readMachineFacts } from './facts.ts'
import type { Log } from './log.ts'
import type { OnPoint } from './points.ts'
import { type Credentials, type Registration, deleteCredentials, readCredentials, register } from './register.ts'
import { type State, openState } from './state.ts'

export interface AgentOptions {
  /** The folder of the agent's state. */
  readonly folder: string
  readonly applianceOf: (state: State) => Appliance
  /** Needed until the agent has registered. */
  readonly registration?: { readonly url: string; readonly code: string; readonly ca?: string }
  /** Where to connect, if not where the registration said. */
  readonly gateway?: Registration['gateway']
  readonly version: string
  readonly log: Log
  readonly signal: AbortSignal
  readonly onPoint?: OnPoint
  /** Replaces values that several agents on one machine would share. */
  readonly identity?: Partial<Record<'boot_id' | 'model' | 'serial', string>>
}

/**
 * Registers if that is necessary, and stays connected until the signal or the end of its registration.
 * @throws Error where it is not registered and can't register.
 */
export async function runAgent(options: AgentOptions): Promise<'stopped' | 'unregistered'> {
  const { folder, log, signal, version, onPoint = () => {} } = options
  const state = await openState(folder)
  const appliance = options.applianceOf(state)
  const facts = { ...(await readMachineFacts()), ...options.identity }
  const credentials = (await readCredentials(state)) ?? (await registerAtLast(state, options, onPoint))
  const { gateway = credentials.gateway } = options
  const book = createCommandBook({ state, appliance, bootId: facts.boot_id, onPoint })
  const reporter = createReporter(folder)
  const report = async () => reporter(await appliance.services())
  for (let failures = 0; !signal.aborted;) {
    const connection = {
      state,
      book,
      credentials: { ...credentials, gateway },
      facts,
      methods: appliance.methods,
      report,
      version,
      log,
      onPoint,
      signal,
    }
    const { code, wasWelcome } = await runConnection(connection)
    if (signal.aborted) break
    failures = wasWelcome ? 0 : failures + 1
    const next = decideNext(code, failures, Math.random())
    if (next.kind === 'stop') {
      await deleteCredentials(state)
      log('unregistered', { reason: 'another appliance may register in place of this one' })
      return 'unregistered'
    }
    await wait(next.ms, undefined, { signal }).catch(() => {})
  }
  return 'stopped'
}

async function registerAtLast(
  state: State,
  { registration, log }: AgentOptions,
  onPoint: OnPoint,
): Promise<Credentials> {
  if (registration === undefined) throw new Error('The agent is not registered: --url and --code are needed')
  const credentials = await register(state, { ...registration, onPoint })
  log('registered', { mxedge_id: credentials.mxedge_id })
  return credentials
}
