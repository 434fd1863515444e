// Writes the plural that controller-gen gives to each kind on its input, one a line.
//
// controller-tools says which release of flect that is.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/gobuffalo/flect"
	_ "sigs.k8s.io/controller-tools/pkg/crd"
)

func main() {
	kinds := bufio.NewScanner(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for kinds.Scan() {
		fmt.Fprintln(out, strings.ToLower(flect.Pluralize(kinds.Text())))
	}
}
