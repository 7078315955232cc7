import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { OnPoint } from './points.ts'
import type { Role } from './role.ts'
import { signingRequest } from './signing-request.ts'
import type { State } from './state.ts'

/** The data that the agent needs to connect. PEM texts. */
export interface Registration {
  /** Set for an edge appliance. */
  readonly mxedge_id?: string
  /** Set for a router. */
  readonly device_id?: string
  readonly certificate: string
  readonly ca: string
  readonly gateway: { readonly host: string; readonly port: number }
}

export interface Credentials extends Registration {
  readonly key: string
}

/** Returns the fields that identify the agent in its log. */
export function namesOf({ mxedge_id, device_id }: Registration): Readonly<Record<string, string>> {
  return { ...(mxedge_id !== undefined && { mxedge_id }), ...(device_id !== undefined && { device_id }) }
}

export interface RegistrationRequest {
  /** The service's address, such as `https://signalbox.example.net`. */
  readonly url: string
  readonly code: string
  readonly role: Role['registration']
  /** PEM of the CA of an HTTPS server that no public CA has certified. */
  readonly ca?: string
}

export interface RegisterOptions extends RegistrationRequest {
  readonly onPoint: OnPoint
}

const KEY = 'key.pem'
const REGISTRATION = 'registration.json'

/** Returns the credentials of an earlier registration; null: none. */
export async function readCredentials(state: State): Promise<Credentials | null> {
  const [keyOfRegistration, text] = await Promise.all([state.read(KEY), state.read(REGISTRATION)])
  if (text === null) return null
  // A renewed certificate is in one file with its key, so that both are replaced at once.
  const { key = keyOfRegistration, ...registration } = JSON.parse(text) as Registration & Partial<Credentials>
  return key === null ? null : { ...registration, key }
}

/** Replaces the credentials that the agent connects with. */
export function writeCredentials(state: State, credentials: Credentials): Promise<void> {
  return state.write(REGISTRATION, JSON.stringify(credentials))
}

/** Removes the key of the registration, after its certificate was renewed. */
export function deleteKeyOfRegistration(state: State): Promise<void> {
  return state.remove(KEY)
}

/** Ends a registration that the service has ended, so that the next one makes a new key. */
export async function deleteCredentials(state: State): Promise<void> {
  await state.remove(REGISTRATION)
  await state.remove(KEY)
}

/**
 * Registers by the code. The key is written first and reused: if the answer gets lost, the same key registers again.
 * @throws Error with the reason of the service.
 */
export async function register(state: State, options: RegisterOptions): Promise<Credentials> {
  const key = (await state.read(KEY)) ?? (await makeKey(state, KEY))
  options.onPoint('key written')
  const registration = await requestRegistration(key, options)
  await state.write(REGISTRATION, JSON.stringify(registration))
  options.onPoint('registered')
  return { ...registration, key }
}

/**
 * Registers the key by the code, and stores nothing. The service accepts a key that has registered already with the code of its
 * registration.
 * @throws Error with the reason of the service.
 */
export function requestRegistration(key: string, options: RegistrationRequest): Promise<Registration> {
  const csr = signingRequest(createPrivateKey(key))
  return post(options, { ...options.role.body, code: options.code, csr })
}

/** @returns PEM of a new key, which is in the file. */
export async function makeKey(state: State, name: string): Promise<string> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  await state.write(name, key)
  return key
}

const MAX_ANSWER_BYTES = 64 * 1024
const TIMEOUT_MS = 30_000
const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]'])

async function post({ url, ca, role }: RegistrationRequest, body: object): Promise<Registration> {
  const target = new URL(role.path, url)
  // Anyone who reads a code on the network could register with it.
  if (target.protocol !== 'https:' && !LOOPBACK.has(target.hostname))
    throw new Error(`The address of the service must begin with https, not ${target.protocol}//`)
  const { status, text } = await send(target, JSON.stringify(body), ca)
  const answer: unknown = parse(text)
  if (status === 200 && isRegistration(answer)) return answer
  const detail = typeof answer === 'object' && answer !== null && 'detail' in answer ? String(answer.detail) : ''
  throw new Error(`The service answered ${status}${detail === '' ? '' : `: ${detail}`}`)
}

function send(target: URL, body: string, ca: string | undefined): Promise<{ status: number; text: string }> {
  const start = target.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const request = start(
      target,
      { method: 'POST', headers: { 'content-type': 'application/json' }, timeout: TIMEOUT_MS, ...(ca && { ca }) },
      (response) => {
        const chunks: Buffer[] = []
        let bytes = 0
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          if (bytes > MAX_ANSWER_BYTES) request.destroy(new Error('The answer of the service is too long'))
          chunks.push(chunk)
        })
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }),
        )
        response.on('error', reject)
      },
    )
    request.on('timeout', () => request.destroy(new Error('The service did not answer in time')))
    request.on('error', reject)
    request.end(body)
  })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function isRegistration(answer: unknown): answer is Registration {
  if (typeof answer !== 'object' || answer === null) return false
  const { certificate, ca, gateway } = answer as Partial<Record<keyof Registration, unknown>>
  return [certificate, ca].every((text) => typeof text === 'string') && typeof gateway === 'object'
}
