/** One device after the other. Source: spec, "Organization device upgrade request". */
export function planSerial(targets: number): number[] {
  return Array.from({ length: targets }, () => 1)
}
