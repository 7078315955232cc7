import type { Tone } from './tone.ts'

export interface Share {
  readonly name: string
  readonly count: number
  readonly tone: Tone
}

/** A bar of shares of a whole, which reads as text too. */
export function ShareBar({ label, shares }: { readonly label: string; readonly shares: readonly Share[] }) {
  const total = shares.reduce((sum, { count }) => sum + count, 0)
  const present = shares.filter(({ count }) => count > 0)
  const text = present.map(({ name, count }) => `${count} ${name}`).join(', ')
  return (
    <span className="share-bar" role="img" aria-label={`${label}: ${text === '' ? 'none' : text}`} title={text}>
      {present.map(({ name, count, tone }) => (
        <span key={name} data-tone={tone} style={{ flexGrow: count / Math.max(1, total) }} />
      ))}
    </span>
  )
}
