import { Modal } from '@mantine/core'
import { useState } from 'react'
import { Button } from '../../display/forms/button.tsx'
import { type ColumnKey, columnText, columns, columnsIn } from './columns.ts'

interface ColumnChoiceProps {
  /** As in the address. */
  readonly chosen: string | undefined
  readonly onChange: (chosen: string | undefined) => void
}

/** Which columns the list has. They are in the address, so that a link shows the same list. */
export function ColumnChoice({ chosen, onChange }: ColumnChoiceProps) {
  const [isOpen, setOpen] = useState(false)
  const keys = new Set<ColumnKey>(columnsIn(chosen).map(({ key }) => key))
  const toggle = (key: ColumnKey, isWanted: boolean): void => {
    const next = new Set(keys)
    if (isWanted) next.add(key)
    else next.delete(key)
    onChange(columnText(next))
  }
  return (
    <>
      <button type="button" className="quiet" onClick={() => setOpen(true)}>
        Columns
      </button>
      <Modal opened={isOpen} onClose={() => setOpen(false)} title="Columns" lockScroll={false} centered size="xs">
        <div className="confirm">
          <div className="choice-list">
            {columns.map(({ key, label }) => (
              <label key={key}>
                <input
                  type="checkbox"
                  checked={keys.has(key)}
                  // One column stays.
                  disabled={keys.size === 1 && keys.has(key)}
                  onChange={({ currentTarget: { checked } }) => toggle(key, checked)}
                />
                {label}
              </label>
            ))}
          </div>
          <div className="confirm-buttons">
            <Button variant="default" size="sm" onClick={() => setOpen(false)}>
              Done
            </Button>
          </div>
        </div>
      </Modal>
    </>
  )
}
