import type { Tone } from './tone.ts'

/** A state in words, with a dot of its color; the shape differs too, for people who can't distinguish the colors. */
export function StateMark({ tone, children }: { readonly tone: Tone; readonly children: string }) {
  return (
    <span className="state" data-tone={tone}>
      <span className="state-dot" aria-hidden="true" />
      {children}
    </span>
  )
}
