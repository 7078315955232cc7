import type { KeyObject } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { createCommandBook } from './command-book.ts'
import { runConnection } from './connection.ts'
import { countFailures, decideNext } from './decide-next.ts'
import { createDownloads } from './downloads/download.ts'
import type { Log } from './log.ts'
import type { OnPoint } from './points.ts'
import { createProgressFeed } from './downloads/progress.ts'
import {
  type Credentials,
  type Registration,
  type RegistrationRequest,
  deleteCredentials,
  namesOf,
  readCredentials,
  register,
  requestRegistration,
  writeCredentials,
} from './register.ts'
import { type Renewal, createRenewal } from './renewal.ts'
import { createUpload } from './downloads/upload.ts'
import type { Role, RoleParts } from './role.ts'
import { type State, openState } from './state.ts'

export interface AgentOptions {
  /** The folder of the agent's state. */
  readonly folder: string
  readonly roleOf: (parts: RoleParts) => Promise<Role>
  /** Needed until the agent has registered. */
  readonly registration?: { readonly url: string; readonly code: string }
  /** Registers with its present key although it is registered: the service has another CA, which has not signed its certificate. */
  readonly registersAgain?: boolean
  /** PEM of the CA of an HTTPS server that no public CA has certified. */
  readonly ca?: string
  /** An Ed25519 key: only artifacts that it has signed are downloaded. */
  readonly packageKey?: KeyObject
  /** The gateway to connect to, if it differs from the registration's. */
  readonly gateway?: Registration['gateway']
  readonly version: string
  readonly log: Log
  readonly signal: AbortSignal
  readonly onPoint?: OnPoint
}

/**
 * Registers if that is necessary, and stays connected until the signal or the end of its registration.
 * @throws Error if it is not registered and can't register, or is to register again and can't.
 */
export async function runAgent(options: AgentOptions): Promise<'stopped' | 'unregistered'> {
  const { folder, log, signal, version, onPoint = () => {} } = options
  const state = await openState(folder)
  const feed = createProgressFeed(() => performance.now())
  // Set once the agent has registered.
  const gatewayCa: string[] = []
  const downloads = createDownloads({
    folder: join(folder, 'artifacts'),
    ca: gatewayCa,
    publicKey: options.packageKey ?? null,
    signal,
    onPoint,
  })
  const upload = createUpload({ ca: gatewayCa, signal })
  const role = await options.roleOf({ state, folder, downloads, upload, feed, log, onPoint })
  const renewal = createRenewal(state, () => readCredentials(state), onPoint)
  if (options.registersAgain === true) await registerAgain(state, options, { role, renewal })
  const book = createCommandBook({ state, role, onPoint, signal })
  for (let failures = 0; !signal.aborted;) {
    const { credentials, isNext } = (await renewal.find()) ?? {
      credentials: await registerAtLast(state, options, { role, onPoint }),
      isNext: false,
    }
    gatewayCa.splice(0, Infinity, credentials.ca, ...(options.ca === undefined ? [] : [options.ca]))
    const { gateway = credentials.gateway } = options
    const ended = await runConnection({
      ...{ role, book, feed, version, log, onPoint, signal },
      credentials: { ...credentials, gateway },
      renewal: {
        request: () => renewal.request(),
        keep: (answer) => renewal.keep(credentials, answer),
        onWelcome: async () => (isNext ? renewal.confirm(credentials) : undefined),
      },
    })
    if (signal.aborted) break
    failures = countFailures(failures, ended)
    const next = decideNext(ended.code, failures, Math.random())
    if (next.kind === 'wait') await wait(next.ms, undefined, { signal }).catch(() => {})
    else if (await isUnregistered(state, renewal, isNext && !ended.wasWelcome)) {
      log('unregistered', { reason: 'another appliance may register in place of this one' })
      return 'unregistered'
    }
  }
  return 'stopped'
}

/**
 * Deletes the credentials that the gateway has refused.
 * @param isNextRefused True if they come from a renewal: a service that was restored from a backup knows only
 *   the present ones.
 * @returns False if the agent has others.
 */
async function isUnregistered(state: State, renewal: Renewal, isNextRefused: boolean): Promise<boolean> {
  await renewal.drop()
  if (isNextRefused) return false
  await deleteCredentials(state)
  return true
}

/**
 * Registers with the present key, and replaces the present certificate once the service has answered with another one. Does
 * nothing if the agent is not registered.
 */
async function registerAgain(
  state: State,
  options: AgentOptions,
  { role, renewal }: { readonly role: Role; readonly renewal: Renewal },
): Promise<void> {
  const request = registrationOf(role, options)
  if (request === null) throw new Error('To register again, --url and --code are needed')
  const present = await readCredentials(state)
  if (present === null) return
  const answer = await requestRegistration(present.key, request).catch((error: Error) => {
    const kept = 'The agent keeps its certificate, and connects with it if it is started without --register-again'
    throw new Error(`The agent could not register again: ${error.message}. ${kept}`, { cause: error })
  })
  await renewal.drop()
  await writeCredentials(state, { ...answer, key: present.key })
  options.log('registered', namesOf(answer))
}

async function registerAtLast(
  state: State,
  options: AgentOptions,
  { role, onPoint }: { readonly role: Role; readonly onPoint: OnPoint },
): Promise<Credentials> {
  const request = registrationOf(role, options)
  if (request === null) throw new Error('The agent is not registered: --url and --code are needed')
  const credentials = await register(state, { ...request, onPoint })
  options.log('registered', namesOf(credentials))
  return credentials
}

/** Null if the options do not say where to register. */
function registrationOf(role: Role, { registration, ca }: AgentOptions): RegistrationRequest | null {
  if (registration === undefined) return null
  return { ...registration, role: role.registration, ...(ca !== undefined && { ca }) }
}
