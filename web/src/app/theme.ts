import { createTheme } from '@mantine/core'

/** The settings of components besides the colors in colors.css. */
export const theme = createTheme({
  respectReducedMotion: true,
  cursorType: 'pointer',
  components: {
    // Every field of the forms is required, unless its label marks it as optional.
    // The description is below the field, so that the fields of a row stay in line.
    InputWrapper: {
      defaultProps: { withAsterisk: false, inputWrapperOrder: ['label', 'input', 'error', 'description'] },
    },
    Modal: { defaultProps: { transitionProps: { duration: 0 }, closeButtonProps: { 'aria-label': 'Close' } } },
  },
})
