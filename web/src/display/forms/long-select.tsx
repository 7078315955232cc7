import { Combobox, type ComboboxProps, TextInput, useCombobox } from '@mantine/core'
import { type KeyboardEvent, type SyntheticEvent, useEffect, useId, useState } from 'react'
import { type Choice, nextChoice, shortenChoices } from './choices.ts'

interface LongSelectProps extends Pick<ComboboxProps, 'size'> {
  readonly label?: string
  readonly 'aria-label'?: string
  readonly value: string
  readonly choices: readonly Choice[]
  readonly onChange: (value: string) => void
}

/**
 * Shows the first of many choices, and those whose labels contain what is typed. Mantine's own select marks a place in the list,
 * and Enter takes what is there by then: here a choice is marked, wherever it is after the choices were read again.
 */
export function LongSelect({ value, choices, onChange, ...input }: LongSelectProps) {
  const listId = useId()
  // Undefined until something is typed, which replaces the label of the present choice.
  const [text, setText] = useState<string>()
  const [marked, setMarked] = useState<string>()
  const list = useCombobox({ onDropdownOpen: () => setMarked(value), onDropdownClose: () => setText(undefined) })
  const isOpen = list.dropdownOpened
  const present = choices.find((choice) => choice.value === value)
  const shownBy = (typed: string) => shortenChoices(choices, { chosen: [value], text: typed }).shown
  const shown = shownBy(text ?? '')
  const mark = isOpen ? shown.find((choice) => choice.value === marked) : undefined
  const idOf = (choice: Choice): string => `${listId}-${choice.value}`
  const markId = mark && idOf(mark)
  useEffect(() => {
    if (markId !== undefined) document.querySelector(`#${CSS.escape(markId)}`)?.scrollIntoView({ block: 'nearest' })
  }, [markId])
  const open = ({ currentTarget }: SyntheticEvent<HTMLInputElement>): void => {
    currentTarget.select()
    list.openDropdown()
  }
  const type = (typed: string): void => {
    list.openDropdown()
    setText(typed)
    setMarked(shownBy(typed)[0]?.value)
  }
  const choose = (chosen: string): void => {
    list.closeDropdown()
    if (chosen !== value) onChange(chosen)
  }
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.nativeEvent.isComposing) return
    if (event.key === 'Escape') return list.closeDropdown()
    if (step !== undefined) {
      if (isOpen) setMarked(nextChoice(shown, mark, step)?.value)
      else list.openDropdown()
    } else if (event.key !== 'Enter' || !isOpen) return
    else if (mark !== undefined) choose(mark.value)
    // The value of a form is not what is typed while the list is open.
    event.preventDefault()
  }
  return (
    <Combobox store={list} transitionProps={{ duration: 0 }} onOptionSubmit={choose}>
      <Combobox.Target withAriaAttributes={false} withKeyboardNavigation={false}>
        <TextInput
          {...input}
          role="combobox"
          aria-haspopup="listbox"
          aria-autocomplete="list"
          aria-expanded={isOpen}
          aria-controls={isOpen ? listId : undefined}
          aria-activedescendant={markId}
          data-mantine-stop-propagation={isOpen || undefined}
          autoComplete="off"
          rightSection={<Combobox.Chevron />}
          rightSectionPointerEvents="none"
          value={text ?? present?.label ?? ''}
          onChange={({ currentTarget }) => type(currentTarget.value)}
          onFocus={open}
          onClick={open}
          onBlur={() => list.closeDropdown()}
          onKeyDown={press}
        />
      </Combobox.Target>
      <Combobox.Dropdown>
        <Combobox.Options id={listId} className="long-options" aria-label={input.label ?? input['aria-label']}>
          {shown.map((choice) => (
            <Combobox.Option
              key={choice.value}
              id={idOf(choice)}
              value={choice.value}
              active={choice.value === value}
              selected={choice === mark}
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
