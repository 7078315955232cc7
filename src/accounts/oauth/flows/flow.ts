import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Context } from '../../../platform/context.ts'
import type { Binding } from './binding.ts'

export type Purpose = 'link' | 'login'

/** The time that the person has to sign in at the provider. */
export const FLOW_MS = 600_000
/** How long our own code is valid: between a redirect and a POST. */
export const CODE_MS = 120_000

/** A sign-in at a provider that has begun. */
export interface Flow {
  readonly provider: string
  readonly purpose: Purpose
  readonly bound: Binding
  readonly forward: string | null
  readonly expiresAt: Date
}

/** The grant behind our own one-time code. */
export interface Code {
  readonly provider: string
  readonly purpose: Purpose
  readonly bound: Binding
  readonly expiresAt: Date
}

const FlowSecrets = Type.Object({
  nonce: Type.String(),
  verifier: Type.String(),
  /** True if a script began the flow: the person then signs in with a browser that has no cookie of the flow. */
  script: Type.Boolean(),
})

const CodeSecrets = Type.Union([
  Type.Object({
    kind: Type.Literal('granted'),
    code: Type.String(),
    iss: Type.Optional(Type.String()),
    state: Type.String(),
    ...FlowSecrets.properties,
  }),
  Type.Object({
    kind: Type.Literal('denied'),
    error: Type.String(),
    description: Type.String(),
    script: Type.Boolean(),
  }),
])

export type FlowSecrets = Static<typeof FlowSecrets>
export type CodeSecrets = Static<typeof CodeSecrets>

/** @param hash The hash of the state: binds the text to its row. */
export function sealFlow({ secrets }: Context, hash: Buffer, flow: FlowSecrets): Buffer {
  return secrets.seal(JSON.stringify(flow), `oauth_flow ${hash.toString('hex')}`)
}

export function openFlow({ secrets }: Context, hash: Buffer, sealed: Buffer): FlowSecrets {
  return Value.Parse(FlowSecrets, JSON.parse(secrets.open(sealed, `oauth_flow ${hash.toString('hex')}`)))
}

/** @param hash The hash of our code: binds the text to its row. */
export function sealCode({ secrets }: Context, hash: Buffer, code: CodeSecrets): Buffer {
  return secrets.seal(JSON.stringify(code), `oauth_code ${hash.toString('hex')}`)
}

export function openCode({ secrets }: Context, hash: Buffer, sealed: Buffer): CodeSecrets {
  return Value.Parse(CodeSecrets, JSON.parse(secrets.open(sealed, `oauth_code ${hash.toString('hex')}`)))
}
