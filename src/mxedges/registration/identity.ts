/** The identity in the certificate of an agent: an edge appliance in one epoch of its registration. */
export interface AgentIdentity {
  readonly mxedgeId: string
  readonly registrationEpoch: number
}

const NAME = /^edge-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-([1-9][0-9]{0,8})$/

/** Returns the common name of the agent's certificate; no MAC address, so that it opens no session of a device. */
export function commonNameOf({ mxedgeId, registrationEpoch }: AgentIdentity): string {
  return `edge-${mxedgeId}-${registrationEpoch}`
}

/** Null for a name that is not an agent's. */
export function parseCommonName(name: string): AgentIdentity | null {
  const [, mxedgeId, epoch] = NAME.exec(name) ?? []
  return mxedgeId === undefined ? null : { mxedgeId, registrationEpoch: Number(epoch) }
}
