import { X509Certificate, createPrivateKey } from 'node:crypto'
import type { OnPoint } from './points.ts'
import { type Credentials, deleteKeyOfRegistration, makeKey, writeCredentials } from './register.ts'
import { signingRequest } from './signing-request.ts'
import type { State } from './state.ts'

/** The key of the next certificate, until that is there. */
const NEXT_KEY = 'next-key.pem'
/** The next certificate with its key, until the agent has connected with them. */
const NEXT = 'next.json'

/**
 * The renewal of the certificate. The present key and certificate stay until the agent has connected with the next ones, and
 * each file is replaced whole: a kill at any time leaves a pair that the gateway accepts.
 */
export interface Renewal {
  /** Returns the credentials to connect with: the next ones if they are there. */
  find(): Promise<{ readonly credentials: Credentials; readonly isNext: boolean } | null>
  /** Returns a certificate request for the next key, which it makes if there is none. */
  request(): Promise<string>
  /** Stores the next certificate. @throws Error if it is not for the next key, or its CA has not signed it. */
  keep(present: Credentials, answer: unknown): Promise<void>
  /** Makes the next credentials the present ones, after the gateway has accepted them. */
  confirm(next: Credentials): Promise<void>
  /** Deletes the next credentials, because the gateway has refused them. */
  drop(): Promise<void>
}

export function createRenewal(state: State, readPresent: () => Promise<Credentials | null>, onPoint: OnPoint): Renewal {
  return {
    async find() {
      const [present, next] = await Promise.all([readPresent(), state.read(NEXT)])
      if (present === null) return null
      return next === null
        ? { credentials: present, isNext: false }
        : { credentials: JSON.parse(next) as Credentials, isNext: true }
    },
    async request() {
      const key = (await state.read(NEXT_KEY)) ?? (await makeKey(state, NEXT_KEY))
      onPoint('next key written')
      return signingRequest(createPrivateKey(key))
    },
    async keep(present, answer) {
      const key = await state.read(NEXT_KEY)
      if (key === null) throw new Error('there is no next key')
      const { certificate, ca } = parseAnswer(answer, key)
      const next: Credentials = { ...present, key, certificate, ca }
      await state.write(NEXT, JSON.stringify(next))
      onPoint('next certificate written')
      await state.remove(NEXT_KEY)
    },
    async confirm(next) {
      await writeCredentials(state, next)
      onPoint('certificate replaced')
      await deleteKeyOfRegistration(state)
      // A kill may have left the key behind, and the next renewal needs another one.
      await state.remove(NEXT_KEY)
      await state.remove(NEXT)
      onPoint('former key removed')
    },
    async drop() {
      await state.remove(NEXT)
      await state.remove(NEXT_KEY)
    },
  }
}

function parseAnswer(answer: unknown, key: string): Pick<Credentials, 'certificate' | 'ca'> {
  const { certificate, ca } = (answer ?? {}) as Partial<Record<'certificate' | 'ca', unknown>>
  if (typeof certificate !== 'string' || typeof ca !== 'string') throw new Error('The answer has no certificate')
  const leaf = new X509Certificate(certificate)
  const issuer = new X509Certificate(ca)
  if (!leaf.checkPrivateKey(createPrivateKey(key))) throw new Error('The certificate is for another key')
  if (!leaf.checkIssued(issuer) || !leaf.verify(issuer.publicKey))
    throw new Error('Another CA has signed the certificate')
  return { certificate, ca }
}
