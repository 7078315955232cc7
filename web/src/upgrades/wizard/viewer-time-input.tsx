import { TextInput } from '@mantine/core'

interface ViewerTimeInputProps {
  readonly label: string
  /** What an empty field means. */
  readonly empty: string
  readonly value: string | undefined
  readonly error: string | null
  readonly onChange: (value: string | undefined) => void
}

/** A time on the clock of the viewer, for requests that take an instant. */
export function ViewerTimeInput({ label, empty, value = '', error, onChange }: ViewerTimeInputProps) {
  return (
    <TextInput
      type="datetime-local"
      label={label}
      description={`In your time zone; empty: ${empty}`}
      value={value}
      error={error}
      onChange={({ currentTarget }) => onChange(currentTarget.value === '' ? undefined : currentTarget.value)}
    />
  )
}
