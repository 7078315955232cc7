import { AppError } from '../../platform/errors.ts'
import type { CheckRequest } from '../certificates/agent-signer.ts'
import type { DeviceCall } from '../websockets/frame-session.ts'
import type { LinkHost } from '../protocol.ts'
import { errorCodes, isRenewal } from './messages.ts'
import type { AgentSession } from './session.ts'

/** The settings for the renewal of agents' certificates. */
export interface RenewalOptions {
  readonly checkRequest: CheckRequest
  /** A certificate that expires sooner is renewed. */
  readonly renewBeforeMs: number
}

/** The services of the gateway for the links of agents. */
export interface EdgeHost extends LinkHost {
  readonly renewal: RenewalOptions
}

/**
 * Admits another key for the agent beside its present one.
 * @returns The common name of the next certificate; null if the session or its key no longer counts.
 */
export type AdmitKey<S> = (host: LinkHost, session: S, keySha256: string) => Promise<string | null>

/** The interval of an agent's reports. */
const INTERVAL_S = 60

/** Answers the hello of an agent. The agent's clock may be wrong, so the answer says when to renew the certificate. */
export function welcome<S extends AgentSession<S>>(host: EdgeHost, session: S, helloId: number): void {
  session.answer(helloId, { interval_s: INTERVAL_S, renew_in_s: secondsUntilRenewal(host, session) })
}

function secondsUntilRenewal<S extends AgentSession<S>>(
  { ctx, renewal }: EdgeHost,
  { certificateExpiresAt }: S,
): number {
  const leftMs = certificateExpiresAt.getTime() - renewal.renewBeforeMs - ctx.clock.now().getTime()
  return Math.max(0, Math.ceil(leftMs / 1000))
}

/**
 * Answers an agent's request for a certificate with a new key. If the answer gets lost, the agent asks again, with the
 * same key or another one: its present certificate counts until it connects with the next one.
 */
export async function renew<S extends AgentSession<S>>(
  host: EdgeHost,
  session: S,
  { call: { id, params }, admitKey }: { readonly call: DeviceCall; readonly admitKey: AdmitKey<S> },
): Promise<void> {
  if (id === null || !isRenewal(params)) return refuse('The params are not those of renew', errorCodes.invalidParams)
  if (secondsUntilRenewal(host, session) > 0) return refuse('The certificate need not be renewed yet')
  const signing = await host.renewal.checkRequest(params.csr).catch((error: unknown) => {
    if (error instanceof AppError) return error.message
    throw error
  })
  if (typeof signing === 'string') return refuse(signing, errorCodes.invalidParams)
  if (signing.keySha256 === session.keySha256) return refuse('The key must be a new one', errorCodes.invalidParams)
  const commonName = await admitKey(host, session, signing.keySha256)
  if (commonName === null) return refuse('The session no longer counts')
  const { certificate, ca } = await signing.sign(commonName, host.ctx.clock.now())
  session.answer(id, { certificate, ca })

  function refuse(message: string, code: number = errorCodes.refused): void {
    session.refuse(id, { code, message })
  }
}
