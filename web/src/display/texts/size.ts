const units = ['B', 'KiB', 'MiB', 'GiB'] as const

/** Returns a size such as "12.4 MiB". */
export function sizeText(bytes: number): string {
  const power = bytes < 1024 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10))
  const value = bytes / 1024 ** power
  return `${power === 0 ? value : value.toFixed(1)} ${units[power] ?? ''}`
}
