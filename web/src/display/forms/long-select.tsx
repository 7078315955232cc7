import { Combobox, type ComboboxProps, TextInput, useCombobox } from '@mantine/core'
import { type SyntheticEvent, useEffect, useState } from 'react'
import { type Choice, shortenChoices } from './choices.ts'

interface LongSelectProps extends Pick<ComboboxProps, 'size'> {
  readonly label?: string
  readonly 'aria-label'?: string
  readonly value: string
  readonly choices: readonly Choice[]
  readonly onChange: (value: string) => void
}

/**
 * Shows the first of many choices, and those whose labels contain what is typed. Mantine's own select sometimes takes the mark
 * from the choice that Enter takes, because it looks for the present choice some time after the list has opened.
 */
export function LongSelect({ value, choices, onChange, ...input }: LongSelectProps) {
  // Undefined until something is typed, which replaces the label of the present choice.
  const [text, setText] = useState<string>()
  const present = choices.find((choice) => choice.value === value)
  const list = useCombobox({
    onDropdownOpen: () => present && list.selectActiveOption(),
    onDropdownClose: () => {
      setText(undefined)
      list.resetSelectedOption()
    },
  })
  const { selectFirstOption } = list
  useEffect(() => {
    if (text !== undefined) selectFirstOption()
  }, [text, selectFirstOption])
  const open = ({ currentTarget }: SyntheticEvent<HTMLInputElement>): void => {
    currentTarget.select()
    list.openDropdown()
  }
  const choose = (chosen: string): void => {
    list.closeDropdown()
    if (chosen !== value) onChange(chosen)
  }
  const { shown } = shortenChoices(choices, { chosen: [value], text: text ?? '' })
  return (
    <Combobox store={list} transitionProps={{ duration: 0 }} onOptionSubmit={choose}>
      <Combobox.Target withExpandedAttribute>
        <TextInput
          {...input}
          rightSection={<Combobox.Chevron />}
          rightSectionPointerEvents="none"
          value={text ?? present?.label ?? ''}
          onChange={({ currentTarget }) => {
            setText(currentTarget.value)
            list.openDropdown()
          }}
          onFocus={open}
          onClick={open}
          onBlur={() => list.closeDropdown()}
          // The value of a form is not what is typed while the list is open.
          onKeyDown={(event) => list.dropdownOpened && event.key === 'Enter' && event.preventDefault()}
        />
      </Combobox.Target>
      <Combobox.Dropdown>
        <Combobox.Options className="long-options" aria-label={input.label ?? input['aria-label']}>
          {shown.map((choice) => (
            <Combobox.Option
              key={choice.value}
              value={choice.value}
              active={choice.value === value}
              aria-selected={choice.value === value}
            >
              {choice.label}
            </Combobox.Option>
          ))}
          {shown.length === 0 && <Combobox.Empty>No name contains this</Combobox.Empty>}
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  )
}
