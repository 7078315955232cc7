import { TextInput } from '@mantine/core'

/** As many characters as the note of an approval may have. */
export const MAX_APPROVAL_NOTE = 1000

interface NoteFieldProps {
  readonly note: string
  readonly onChange: (note: string) => void
  readonly maxLength: number
}

/** Why a person does it. */
export function NoteField({ note, onChange, maxLength }: NoteFieldProps) {
  return (
    <TextInput
      label="Note for the record"
      value={note}
      onChange={({ currentTarget: { value } }) => onChange(value)}
      maxLength={maxLength}
    />
  )
}
