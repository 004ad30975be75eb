package stock

// PlaceOrder reserves every item and says what is missing.
func PlaceOrder(shelf map[string]int, order map[string]int) []string {
	var missing []string
	for name, n := range order {
		if !Reserve(shelf, name, n) {
			missing = append(missing, name)
		}
	}
	return missing
}
