/** Everything at once. Source: spec, "Organization device upgrade request". */
export function planBigBang(targets: number): number[] {
  return [targets]
}
