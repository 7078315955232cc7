import { Select, type SelectProps } from '@mantine/core'
import type { SyntheticEvent } from 'react'
import { MANY_CHOICES } from './choices.ts'

/** Shows the first of many choices, and those whose labels contain what is typed. */
export function LongSelect(props: Pick<SelectProps, 'label' | 'aria-label' | 'size' | 'value' | 'data' | 'onChange'>) {
  // What is typed replaces the label of the present choice.
  const selectText = ({ currentTarget }: SyntheticEvent<HTMLInputElement>): void => currentTarget.select()
  return (
    <Select
      {...props}
      searchable
      selectFirstOptionOnChange
      allowDeselect={false}
      limit={MANY_CHOICES}
      withScrollArea={false}
      classNames={{ options: 'long-options' }}
      nothingFoundMessage="No name contains this"
      comboboxProps={{ transitionProps: { duration: 0 } }}
      onFocus={selectText}
      onClick={selectText}
    />
  )
}
