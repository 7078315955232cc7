import { localText } from '../../display/times/local-text.ts'
import { useTextZone } from '../../display/times/text-zone.ts'
import { SiteTime } from '../../display/times/time.tsx'
import type { Hold } from '../upgrade.ts'
import { type HeldPhase, nextPhaseText } from '../verdict.ts'

interface HoldNoteProps {
  readonly hold: Hold | null
  readonly held: HeldPhase
  /** Why the person can't end the wait, and who can; null: nothing prevents it. */
  readonly bar: string | null
}

/** Why an upgrade waits, and until when. */
export function HoldNote({ hold, held, bar }: HoldNoteProps) {
  const zone = useTextZone()
  if (hold === null) return null
  return (
    <p className="note">
      {localText(hold.reason, zone)}
      {hold.until !== undefined && (
        <>
          . {nextPhaseText(held)} begins about <SiteTime at={hold.until} zone={zone} />
        </>
      )}
      {bar !== null && `. ${bar}`}
    </p>
  )
}
