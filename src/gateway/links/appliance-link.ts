import type { MxedgeCommandToSend } from '../../mxedges/commands/store.ts'
import type { AgentIdentity } from '../../mxedges/registration/identity.ts'
import type { MxedgeFacts, MxedgeReport } from '../../mxedges/sessions/facts.ts'
import type { Artifact } from '../commands/artifacts.ts'
import type { Link, SendResult } from './device-link.ts'

/** The identity that the certificate of an agent proves. */
export interface ProvenIdentity extends AgentIdentity {
  /** SHA-256 of the certificate's public key, in hex. */
  readonly keySha256: string
  readonly certificateExpiresAt: Date
}

/** The addresses that a command needs besides its row. */
export interface OrderAddresses {
  /** Null for a command without an image, and for one whose image no longer exists. */
  readonly image: Artifact | null
  /** Signs the address to which the appliance uploads the support files of this command. */
  readonly uploadUri: () => string
}

/** A link of an edge appliance; `deviceId` is the id of the appliance. */
export interface ApplianceLink extends Link {
  readonly identity: ProvenIdentity
  send(command: MxedgeCommandToSend, addresses: OrderAddresses): SendResult
}

/** The hello of an agent. */
export interface ApplianceHello {
  readonly facts: MxedgeFacts
  readonly report: MxedgeReport
}
