import { isOne } from './draft.ts'
import type { WizardFieldsProps } from './strategy-panel.tsx'
import { InstantInput } from './instant-input.tsx'

/** When an upgrade stops, whatever it has done by then. */
export function EndField({ draft, errorOf, onChange }: WizardFieldsProps) {
  return (
    <InstantInput
      label="Ends"
      empty={isOne(draft) ? 'when it has upgraded it' : 'when it has upgraded all'}
      value={draft.end}
      error={errorOf('end_time')}
      onChange={(end) => onChange({ end })}
    />
  )
}
