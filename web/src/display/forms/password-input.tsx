import { PasswordInput as MantinePasswordInput, type PasswordInputProps } from '@mantine/core'

/** A field for a secret. Mantine marks the fields of all other kinds as invalid where they show an error. */
export function PasswordInput(props: PasswordInputProps) {
  return <MantinePasswordInput {...props} aria-invalid={Boolean(props.error)} />
}
