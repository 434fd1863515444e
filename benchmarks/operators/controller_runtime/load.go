package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
)

// question is what is asked at a path, and whether the answer has to have a patch.
type question struct {
	Path    string          `json:"path"`
	Patched bool            `json:"patched"`
	Review  json.RawMessage `json:"review"`
}

// load asks a webhook server as the API server does, over connections that are kept: load URL CONNECTIONS COUNT FILE.
// The file has the questions, which are asked in turn. Prints how many seconds that took.
func load(arguments []string) error {
	connections, err := strconv.Atoi(arguments[1])
	if err != nil {
		return err
	}
	count, err := strconv.ParseInt(arguments[2], 10, 64)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(arguments[3])
	if err != nil {
		return err
	}
	var questions []question
	if err := json.Unmarshal(text, &questions); err != nil {
		return err
	}
	transport := &http.Transport{
		MaxIdleConnsPerHost: connections,
		// HTTP/1.1, since kubebuilder's programs switch HTTP/2 off.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}},
	}
	client := &http.Client{Transport: transport}
	var asked atomic.Int64
	var group sync.WaitGroup
	failures := make([]error, connections)
	started := time.Now()
	for i := range connections {
		group.Go(func() {
			for failures[i] == nil {
				number := asked.Add(1)
				if number > count {
					return
				}
				failures[i] = ask(client, arguments[0], &questions[number%int64(len(questions))])
			}
		})
	}
	group.Wait()
	fmt.Println(time.Since(started).Seconds())
	return errors.Join(failures...)
}

func ask(client *http.Client, url string, asked *question) error {
	answer, err := client.Post(url+asked.Path+"?timeout=10s", "application/json", bytes.NewReader(asked.Review))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil || review.Response == nil {
		return fmt.Errorf("%s: no review: %s: %w", asked.Path, body, err)
	}
	if !review.Response.Allowed || (len(review.Response.Patch) > 0) != asked.Patched {
		return fmt.Errorf("%s: not the answer that was expected: %s", asked.Path, body)
	}
	return nil
}
