/** An appliance that a change of an upgrade names, and leaves as it is. */
export interface SkippedAppliance {
  readonly mxedgeId: string
  readonly reason: string
}
