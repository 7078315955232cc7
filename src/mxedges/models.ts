/** A model that Signalbox knows by name; it accepts others too. */
export interface MxedgeModel {
  readonly model: string
  readonly display: string
  /** True for a virtual machine, which has no label and gets its ports from its host. */
  readonly virtual: boolean
}

export const mxedgeModels: readonly MxedgeModel[] = [
  { model: 'ME-VM', display: 'Edge VM', virtual: true },
  { model: 'ME-X1', display: 'Edge X1', virtual: false },
  { model: 'ME-X1-M', display: 'Edge X1-M', virtual: false },
  { model: 'ME-X2-M', display: 'Edge X2-M', virtual: false },
  { model: 'ME-X3', display: 'Edge X3', virtual: false },
  { model: 'ME-X3-M', display: 'Edge X3-M', virtual: false },
  { model: 'ME-X5', display: 'Edge X5', virtual: false },
  { model: 'ME-X5-M', display: 'Edge X5-M', virtual: false },
  { model: 'ME-X6', display: 'Edge X6', virtual: false },
  { model: 'ME-X10', display: 'Edge X10', virtual: false },
]

/** True if the name looks like one of an edge appliance: every maker of these follows the pattern. */
export function isMxedgeModel(model: string): boolean {
  return /^me-/i.test(model)
}

/** `VM` is how the Terraform provider writes it. */
export function isVirtual(model: string): boolean {
  const name = model.toUpperCase()
  return name === 'VM' || mxedgeModels.some((known) => known.virtual && known.model === name)
}
