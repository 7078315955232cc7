export interface ClaimRefusal {
  readonly code: string
  readonly reason: string
}

/** Returns the refused codes of an answer about claims, whether it claimed others or was refused itself. */
export function claimRefusalsIn(body: unknown): readonly ClaimRefusal[] {
  if (typeof body !== 'object' || body === null || !('error' in body)) return []
  const reasons = 'reason' in body ? textsIn(body.reason) : []
  return textsIn(body.error).map((code, place) => ({ code, reason: reasons[place] ?? 'refused' }))
}

/** Returns true if no device has the code. */
export function isUnknownCode({ reason }: ClaimRefusal): boolean {
  return reason === 'not found'
}

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}
