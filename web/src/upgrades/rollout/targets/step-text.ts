/** The types of devices at the beginning of the names of their events. */
const types: Readonly<Record<string, string>> = { ap: 'AP', sw: 'switch', gw: 'gateway' }

/** Returns a step of a device, such as `AP_DISCONNECTED`, in words: "AP disconnected". */
export function stepText({ what }: { readonly what: string }): string {
  const [first = '', ...others] = what.toLowerCase().split('_')
  return [types[first] ?? first, ...others].join(' ')
}
