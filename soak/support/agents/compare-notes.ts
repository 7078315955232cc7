/** What the commands of a machine have done during an upgrade, by their own notes. */
export interface Notes {
  readonly name: string
  readonly role: 'edge' | 'ssr'
  /** The lines that machine.sh has written since the upgrade began. */
  readonly lines: readonly string[]
  /** What the machine runs now. */
  readonly version: string
}

export interface AgentEffects {
  /** Appliances that installed their package more than once. */
  readonly installedTwice: number
  /** Routers that rebooted more than once. */
  readonly bootedTwice: number
  /** Machines that do not run the version, or routers that did not reboot. */
  readonly leftBehind: number
  /** One sentence per violation. */
  readonly failed: readonly string[]
}

/**
 * Compares the effects of an upgrade on machines with their own notes. A router may install an image again, because only its
 * reboot shows which one it has.
 */
export function compareNotes(
  machines: readonly Notes[],
  versions: Readonly<Record<Notes['role'], string>>,
): AgentEffects {
  const effects = machines.map(({ name, role, lines, version }) => {
    const count = (line: string): number => lines.filter((each) => each === line).length
    const installs = count('end install')
    const reboots = count('end reboot')
    return {
      name,
      overlaps: lines.filter((line) => line.startsWith('overlap ')),
      installs: role === 'edge' ? installs : Math.min(1, installs),
      reboots,
      isLeft: version !== versions[role] || (role === 'ssr' && reboots === 0),
      version,
    }
  })
  const installed = effects.filter(({ installs }) => installs > 1)
  const booted = effects.filter(({ reboots }) => reboots > 1)
  const left = effects.filter(({ isLeft }) => isLeft)
  return {
    installedTwice: installed.length,
    bootedTwice: booted.length,
    leftBehind: left.length,
    failed: [
      ...installed.map(({ name, installs }) => `${name} installed its package ${installs} times`),
      ...booted.map(({ name, reboots }) => `${name} rebooted ${reboots} times`),
      ...left.map(({ name, version, reboots }) => `${name} runs ${version} after ${reboots} reboots`),
      ...effects.flatMap(({ name, overlaps }) => overlaps.map((line) => `commands of ${name} ran together: ${line}`)),
    ],
  }
}
