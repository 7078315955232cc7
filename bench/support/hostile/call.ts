import { Agent, type IncomingMessage, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { AttackRun, HostileTenant, World } from './attack.ts'

export interface HostileCall {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** The address that the call comes from. */
  readonly from?: string
  readonly signal?: AbortSignal
}

/** Null: the connection ended without an answer. Long answers are read, but only their beginning is returned. */
export type HostileAnswer = { readonly status: number; readonly text: string } | null

const KEPT_BYTES = 1024 * 1024
/** A client that retries immediately would measure only the speed of refusals. */
const REFUSED_PAUSE_MS = 100

const agent = new Agent({ keepAlive: true })

export function send({ host, port }: Pick<World, 'host' | 'port'>, call: HostileCall): Promise<HostileAnswer> {
  const { method, path, headers = {}, body, from = networkAddressOfAll, signal } = call
  return new Promise((resolve) => {
    const json = body === undefined || 'content-type' in headers ? {} : { 'content-type': 'application/json' }
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const outgoing = request(
      {
        host,
        port,
        method,
        path: `/api/v1${path}`,
        headers: { ...json, ...length, ...headers },
        agent,
        localAddress: from,
        ...(signal && { signal }),
      },
      (answer) => readAnswer(answer, resolve),
    )
    outgoing.on('error', () => resolve(null))
    outgoing.end(body)
  })
}

/** The network of attackers that don't hide behind several. */
const networkAddressOfAll = '127.0.0.66'

function readAnswer(answer: IncomingMessage, resolve: (answer: HostileAnswer) => void): void {
  let text = ''
  answer.on('data', (part: Buffer) => {
    if (text.length < KEPT_BYTES) text += part.toString('latin1')
  })
  answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
  answer.on('error', () => resolve(null))
}

/** Calls as part of the attack: counts the outcome, and pauses after a refusal. */
export async function strike({ world, signal, count }: AttackRun, call: HostileCall): Promise<HostileAnswer> {
  const answer = await send(world, { ...call, signal })
  if (signal.aborted) return answer
  count(answer === null ? 'closed' : String(answer.status))
  if (answer === null || answer.status >= 400) await pause(REFUSED_PAUSE_MS, signal)
  return answer
}

/** Does the same as strike(), with the session of the attacking tenant. */
export function strikeAsTenant(run: AttackRun, call: HostileCall): Promise<HostileAnswer> {
  return strike(run, { ...call, headers: { ...run.tenant.headers, ...call.headers } })
}

/**
 * Calls before or after the attack.
 * @throws Error for every status but 2xx.
 */
export async function callAsTenant(world: World, tenant: HostileTenant, call: HostileCall): Promise<unknown> {
  const answer = await send(world, { ...call, headers: { ...tenant.headers, ...call.headers } })
  if (answer === null || answer.status >= 300)
    throw new Error(`${call.method} ${call.path}: ${answer?.status} ${answer?.text.slice(0, 300)}`)
  return answer.text.length < KEPT_BYTES && answer.text !== '' ? JSON.parse(answer.text) : {}
}

export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined)
}
