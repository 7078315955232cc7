import { useState } from 'react'
import { Problem } from '../../api/problem.ts'
import {
  type Edits,
  type ShownField,
  type Texts,
  editedTexts,
  rebased,
  takenFields,
  takenText,
  unsentOf,
  withEdit,
  withReliedOn,
} from './edits.ts'
import { useHold } from './leave-guard.tsx'

/** The content of a form over something stored that others may change at the same time. The page is not left with edits unasked. */
export function useEdits(
  stored: Texts,
  fieldOf: (name: string) => ShownField,
  reliedOn: (name: string) => readonly string[] = () => [],
) {
  const [edits, setEdits] = useState<Edits>({})
  useHold(Object.keys(edits).length > 0)
  return {
    edits,
    texts: editedTexts(stored, edits),
    change: (name: string, text: string) => setEdits((current) => withEdit(current, stored, { name, text })),
    /**
     * Returns the content to send over what is stored by now. What is typed meanwhile stays.
     * @throws Problem if somebody else has changed an edited field, or one on which its edit relies; the next time only if it has changed again.
     */
    textsOver: (sent: Edits, now: Texts): Texts => {
      const taken = takenFields(withReliedOn(sent, stored, reliedOn), now)
      if (taken.length === 0) return editedTexts(now, sent)
      setEdits((current) => rebased(withReliedOn(current, stored, reliedOn), taken))
      throw new Problem(409, takenText(taken, fieldOf))
    },
    /** Forgets what was sent; what was typed since stays. */
    forget: (sent: Edits, saved: Texts) => setEdits((current) => unsentOf(current, sent, saved)),
  }
}
