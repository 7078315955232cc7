import type { Schemas } from '../api/client.ts'

export type MaintenanceWindow = Schemas['MaintenanceWindow']

/** Returns each window as a text, such as "sat sun 22:00-04:00". */
export function windowTexts(windows: readonly MaintenanceWindow[]): readonly string[] {
  return windows.map(({ days = [], start, end }) => `${[...days, ''].join(' ')}${start}-${end}`)
}

/** Returns the window of each line. What is not a window is left to the server, which names the part that it refuses. */
export function windowsIn(text: string): MaintenanceWindow[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map(windowOf)
}

function windowOf(line: string): MaintenanceWindow {
  const words = line.trim().split(/[\s,]+/)
  const [start = '', end = ''] = (words.pop() ?? '').split(/[-–]/)
  return { ...(words.length > 0 && { days: words as NonNullable<MaintenanceWindow['days']> }), start, end }
}
